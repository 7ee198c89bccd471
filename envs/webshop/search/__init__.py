"""Keyword search as Anserini's: Lucene's English analyzer and BM25."""

from envs.webshop.search.index import SearchIndex

__all__ = ["SearchIndex"]
