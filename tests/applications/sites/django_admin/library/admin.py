from django.contrib import admin
from library.models import Author, Book, Genre, Loan


class LoanInline(admin.TabularInline):
    model = Loan
    extra = 0


@admin.register(Author)
class AuthorAdmin(admin.ModelAdmin):
    search_fields = ("name",)


@admin.register(Book)
class BookAdmin(admin.ModelAdmin):
    list_display = ("title", "author", "language", "in_print")
    list_editable = ("in_print",)
    list_filter = ("language", "in_print")
    search_fields = ("title", "author__name")
    autocomplete_fields = ("translator",)
    filter_horizontal = ("genres",)
    inlines = (LoanInline,)


admin.site.register(Genre)
