"""Gates for web frameworks: ``asgi``, ``django`` and ``fastapi``. Each imports its framework only."""
