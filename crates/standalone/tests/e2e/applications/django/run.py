"""Runs a Django site whose settings are this file's and those of the module that the argument names."""

import importlib
import os
import sys

import django
from django.conf import settings
from django.core.management import call_command
from django.http import HttpResponse
from django.template import engines
from django.urls import include, path

application = importlib.import_module(sys.argv[1])
chosen = {name: getattr(application, name) for name in dir(application) if name.isupper()}
settings.configure(
    SECRET_KEY="only for this test",
    DEBUG=True,
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF="__main__",
    LOGIN_REDIRECT_URL="/",
    EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend",
    USE_TZ=True,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ["DATA"] + "/site.db"}},
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
        }
    ],
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.messages",
        "django.contrib.sessions",
        *chosen.pop("APPS"),
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
        *chosen.pop("MIDDLEWARES", []),
    ],
    AUTHENTICATION_BACKENDS=["django.contrib.auth.backends.ModelBackend", *chosen.pop("BACKENDS")],
    **{name: value for name, value in chosen.items() if name != "URLS"},
)
django.setup()


HOME = """
<p>User: {{ request.user.username }} {{ request.user.email }}</p>
<form method="post" action="/login/oidc/">{% csrf_token %}<button>Sign in</button></form>
"""


def home(request):
    return HttpResponse(engines["django"].from_string(HOME).render({}, request))


urlpatterns = [path("", home), path(application.URLS[0], include(application.URLS[1]))]

if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    call_command("runserver", os.environ["LISTEN"], use_reloader=False)
