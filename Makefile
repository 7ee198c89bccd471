# Every target does its own set-up; a second call starts at once.
PY := .venv/bin/python

.PHONY: train test quick check bench clean

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

clean:
	rm -rf .venv dist .mypy_cache .ruff_cache .pytest_cache

.venv/ready-run: pyproject.toml scripts/setup.sh
	bash scripts/setup.sh run

.venv/ready-dev: pyproject.toml scripts/setup.sh
	bash scripts/setup.sh dev
