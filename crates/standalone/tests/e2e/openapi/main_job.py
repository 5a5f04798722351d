"""The main job with the clients that openapi-python-client has generated as identity_client and worksession_client."""

import base64
import io
import os

import identity_client as identity
import worksession_client as worksession
from identity_client.api.accounts import register
from identity_client.api.photos import upload_profile_photo
from identity_client.api.sessions import sign_in
from identity_client.api.teams import create_team, list_teams
from identity_client.models import CreateTeamRequest, LoginRequest, PhotoForm, RegisterRequest
from identity_client.types import File
from worksession_client.api.sessions import start_session, submit_session
from worksession_client.api.user import get_leaderboard, update_preferences
from worksession_client.models import PutPreferencesRequest, StartRequest, SubmitRequest
from worksession_client.models.get_leaderboard_period import GetLeaderboardPeriod

NAME, PASSWORD = os.environ["NAME"], "correct horse battery"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

anonymous = identity.Client(base_url=os.environ["IDENTITY"], raise_on_unexpected_status=True)
register.sync(client=anonymous, body=RegisterRequest(username=NAME, password=PASSWORD))
pair = sign_in.sync(client=anonymous, body=LoginRequest(username=NAME, password=PASSWORD))
access = {"token": pair.access_token, "raise_on_unexpected_status": True}
accounts = identity.AuthenticatedClient(base_url=os.environ["IDENTITY"], **access)
timer = worksession.AuthenticatedClient(base_url=os.environ["WORKSESSION"], **access)

create_team.sync(client=accounts, body=CreateTeamRequest(name="Night shift", slug=NAME))
teams = list_teams.sync(client=accounts)
print("Teams:", *(team.slug for team in teams.teams))

form = PhotoForm(photo=File(payload=io.BytesIO(PIXEL), file_name="photo.png", mime_type="image/png"))
photo = upload_profile_photo.sync(pair.user.id, client=accounts, body=form)
print("Photo:", str(photo.has_photo).lower())

update_preferences.sync(client=timer, body=PutPreferencesRequest(leaderboard_opt_in=True))
started = start_session.sync(client=timer, body=StartRequest(category="coding", duration=25))
print("Planned:", started.presession.planned_duration)
times = {"start_time": started.started_at, "end_time": started.started_at}
submitted = submit_session.sync(
    client=timer, body=SubmitRequest(session_id=started.session_id, quality_rating=4, **times)
)
print("Status:", submitted.status.value)
board = get_leaderboard.sync(client=timer, period=GetLeaderboardPeriod.DAY)
print("Board:", board.period.value)
