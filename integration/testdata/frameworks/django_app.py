"""A Django application of one view behind the middleware of examples/plain: PORT=8000 python3 django_app.py SUBJECT ACTION AUDIENCE"""
import os, sys
from wsgiref.simple_server import make_server

import django
from django.conf import settings
from django.http import HttpResponse
from django.urls import path

from countersign_django import countersigned

subject, action, audience = sys.argv[1:]


@countersigned(action, audience, lambda request: (subject, {"type": "payment", "id": "pay-1"}, {"amount": int(request.GET["amount"])}))
def payout(request):
    return HttpResponse("paid " + request.GET["amount"])


urlpatterns = [path("payout", payout), path("alive", lambda request: HttpResponse("yes"))]
settings.configure(
    ROOT_URLCONF=__name__, SECRET_KEY="of this test", ALLOWED_HOSTS=["127.0.0.1"], SESSION_ENGINE="django.contrib.sessions.backends.cache",
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware", "countersign_django.Countersign"])
django.setup()

from django.core.wsgi import get_wsgi_application  # noqa: E402

make_server("127.0.0.1", int(os.environ["PORT"]), get_wsgi_application()).serve_forever()
