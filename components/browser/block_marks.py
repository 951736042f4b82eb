"""The marks of known bot protections: CSS selectors and words of inline scripts, by the protection's name.

The three kinds differ in where a mark occurs. Only a challenge page has a gate. Sensors are on all pages of a site that
uses the protection, and alone on the page that runs its test. Widgets are CAPTCHAs, which ordinary forms hold, too.
To add a protection, add its selectors here.
"""

from __future__ import annotations

GATES = {
    "Cloudflare": (
        "#challenge-running, #challenge-stage, #challenge-error-text, #challenge-error-title,"
        " #cf-challenge-running, .cf-browser-verification, form[action*='__cf_chl'],"
        " script[src*='/cdn-cgi/challenge-platform/'][src*='/orchestrate/']"
    ),
    "DataDome": "iframe[src*='captcha-delivery.com'], script[src*='captcha-delivery.com']",
    "HUMAN": (
        "#px-captcha, #px-captcha-wrapper, #px-captcha-modal, script[src*='captcha.px-c'],"
        " script[src*='captcha.perimeterx.net']"
    ),
    "Akamai": "#sec-if-cpt-container, #sec-if-container, #sec-cpt-if, iframe[src*='/_sec/cp_challenge/']",
    "Imperva": "iframe[src*='_Incapsula_Resource']",
    "AWS WAF": "script[src*='awswaf.com'][src*='/captcha.js']",
    "Google": "form#captcha-form, form[action*='/sorry/'], form[action*='CaptchaRedirect']",
    "Amazon": "form[action*='validateCaptcha' i]",
    "Anubis": "#anubis_challenge, script[src*='/.within.website/x/']",
}
SOURCES = {"Cloudflare": "_cf_chl_opt", "AWS WAF": "gokuProps", "HUMAN": "_pxBlockedUrl"}
"""Words of inline scripts that only challenge pages have; the names are also gates."""
SENSORS = {
    "Imperva's sensor": "script[src*='_Incapsula_Resource']",
    "AWS WAF's sensor": "script[src*='awswaf.com'][src*='/challenge.']",
    "Kasada's sensor": "script[src*='/149e9513-01fa-4fb0-aad4-566afd725d1b/']",
}
WIDGETS = {
    "reCAPTCHA": (
        ".g-recaptcha, iframe[src*='/recaptcha/api2/']:not(.grecaptcha-badge *),"
        " iframe[src*='/recaptcha/enterprise/']:not(.grecaptcha-badge *)"
    ),
    "hCaptcha": ".h-captcha, iframe[src*='hcaptcha.com']",
    "Turnstile": ".cf-turnstile, iframe[src*='challenges.cloudflare.com']",
    "GeeTest": ".geetest_captcha, .geetest_holder, .geetest_box",
    "Arkose": "iframe[src*='arkoselabs.com'], iframe[src*='funcaptcha.com']",
    "Friendly Captcha": ".frc-captcha",
    "another make": (
        "[class*='captcha' i]:not(.grecaptcha-badge, .grecaptcha-badge *, input), form[action*='captcha' i],"
        " iframe[src*='captcha' i]:not(.grecaptcha-badge *)"
    ),
    "an image": "img[src*='captcha' i], img[alt*='captcha' i], input[name*='captcha' i]:not([type=hidden])",
}
