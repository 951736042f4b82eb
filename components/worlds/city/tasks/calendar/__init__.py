"""Tasks that begin in the calendars."""
