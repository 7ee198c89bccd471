# Every target does its own set-up; a second call starts at once.
PY := .venv/bin/python
REFERENCE := aes aes.types aes.protocols aes.events aes.strategy aes.errors aes.engine.model aes.engine.options \
	aes.engine.vllm aes.engine.pool aes.engine.fake envs.webshop

.PHONY: train test quick check bench docs clean

train: .venv/ready-run  ## learn WebShop from the start, on whatever this machine has
	.venv/bin/aes train $(ARGS)

test: .venv/ready-dev  ## everything: style, types, all tests (the real vLLM engine too)
	$(MAKE) --no-print-directory check
	$(PY) -m pytest --durations=15 $(ARGS)

quick: .venv/ready-dev  ## the tests that need no engine
	$(PY) -m pytest -m "not vllm" $(ARGS)

check: .venv/ready-dev  ## style and types
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

bench: .venv/ready-dev  ## every benchmark, as a table and as JSON
	$(PY) benchmarks/run.py $(ARGS)

docs: .venv/ready-dev  ## the API reference, from docstrings, under site/
	.venv/bin/pdoc --docformat google --output-directory site $(REFERENCE)

clean:
	rm -rf .venv dist site .mypy_cache .ruff_cache .pytest_cache

.venv/ready-run: pyproject.toml scripts/setup.sh
	bash scripts/setup.sh run

.venv/ready-dev: pyproject.toml scripts/setup.sh
	bash scripts/setup.sh dev
