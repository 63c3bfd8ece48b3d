from importlib.metadata import PackageNotFoundError, distribution

try:
    distribution("countersign")  # installed: pytest loads the fixtures by its entry point
except PackageNotFoundError:
    pytest_plugins = ["countersign.pytest_plugin"]
