"""The mail's pages. Those before postman's hide its page of the same path."""

from django.contrib.auth import views as accounts
from django.urls import include, path
from postman.views import ReplyView, WriteView

from city.sites.mail.forms import AnswerForm, LetterForm
from city.sites.mail.views import DeleteView, MarkReadView, PeopleView, SearchView

write = WriteView.as_view(form_classes=(LetterForm, LetterForm), success_url="postman:sent")

urlpatterns = [
    path("accounts/login/", accounts.LoginView.as_view(template_name="mail/login.html"), name="login"),
    path("accounts/logout/", accounts.LogoutView.as_view(next_page="/accounts/login/"), name="logout"),
    path("search/", SearchView.as_view(), name="search"),
    path("people/", PeopleView.as_view(), name="people"),
    path("write/", write),
    path("write/<str:recipients>/", write),
    path("reply/<int:message_id>/", ReplyView.as_view(form_class=AnswerForm, success_url="postman:inbox")),
    path("delete/", DeleteView.as_view()),
    path("mark-read/", MarkReadView.as_view()),
    path("", include("postman.urls", namespace="postman")),
]
