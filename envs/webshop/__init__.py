"""WebShop in pure Python: catalogue, search, goals, reward and the text shop, all in memory."""
