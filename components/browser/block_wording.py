"""What challenges and refusals say: titles, and words of the text, in English and in nine other languages.

Each pattern of `WORDING` is at most one signal, so wordings of one thing stand in one pattern. To add a language, add
its patterns to `OTHER_LANGUAGES`, and pages to `tests/browser/block_pages/development`.
"""

from __future__ import annotations

import re

_HUMAN = r"(?:a )?(?:human|(?:real )?person|not (?:a |an )?(?:ro)?bots?|robots?)\b"
_YOU_ARE = r"you(?:'re|’re| are)?"
_TITLE = (
    r"just a moment|one moment,? please|attention required|pardon our interruption|robot check|robot or human"
    rf"|(?:making sure |are |verify )?(?:that )?{_YOU_ARE} {_HUMAN}|are you {_HUMAN}"
    r"|(?:human |bot |security |browser )?(?:verification|check|challenge|detection)"
    r"|(?:re)?captcha(?: (?:challenge|verification|interception|required))?|checking your browser|ddos protection"
    r"|unusual traffic|(?:web )?(?:page|request) (?:blocked|rejected)|you have been blocked"
    r"|einen moment,? bitte|sicherheitsüberprüfung|sicherheitskontrolle|nur einen moment"
    r"|un instant|vérification de sécurité|un momento|verificación de seguridad|um momento"
    r"|verificação de segurança|verifica di sicurezza|even geduld|проверка безопасности|вы не робот"
    r"|安全验证|人机验证|验证码(?:拦截)?|请稍候|セキュリティ(?:検証|チェック)"
)
CHALLENGE_TITLE = re.compile(rf"^\W*(?:{_TITLE})\W*(?:\s[-|–—·]\s.*)?$", re.IGNORECASE)
"""Titles of challenges, alone or with the name of the site. A longer title is that of an article."""
DENIAL_TITLE = re.compile(
    r"^\W*(?:access (?:was |is )?denied|(?:error )?403\b|forbidden\W*$|(?:access )?blocked\W*$"
    r"|zugriff verweigert|accès (?:refusé|interdit)|acceso denegado|acesso negado|accesso negato"
    r"|доступ (?:запрещ|ограничен))",
    re.IGNORECASE,
)
"""Beginnings of the titles of denials."""

_ENGLISH = (
    r"\b(?:verify(?:ing)?|confirm|prove|(?:make|making|be) sure|check\w*|whether|if)\b[^.?!]{0,40}\b"
    rf"{_YOU_ARE} {_HUMAN}",
    rf"\bare you {_HUMAN}|\bby a (?:human|real person)\b|\bi(?:'m|’m| am) not a robot\b",
    r"(?<!\bno )\b(?:unusual|suspicious|abnormal)(?:ly)?\b[^.?!]{0,20}\b(?:traffic|activity|behaviou?r|requests)\b"
    r"|\btoo many requests\b[^.?!]{0,60}\b(?:ip|network|address)\b",
    r"\bautomated (?:access|requests|queries|traffic|tools|software|visits?)\b|\bsent automatically\b",
    r"\blooks? like[^.?!]{0,30}\b(?:(?:ro)?bot|script|automat\w+)\b",
    r"\b(?:think|believe|suspect|detected)\b[^.?!]{0,40}\b(?:(?:ro)?bots?|automation)\b",
    r"\b(?:checking|verifying|review\w*)\b[^.?!]{0,30}\b(?:your (?:browser|connection|request)|site connection)\b"
    r"|\byour (?:browser|connection|request) is being (?:checked|verified|reviewed)\b",
    # what the visitor is to do: games and forms ask for the same, so all of it is one signal
    r"\b(?:press|click|activate) (?:and|&) hold\b"
    r"|\b(?:slide|drag)\b[^.?!]{0,30}\b(?:verify|complete|puzzle|piece)\b|\b(?:complete|solve)\b[^.?!]{0,30}\bpuzzle\b"
    r"|\b(?:type|enter) the (?:characters|letters|code|text)\b[^.?!]{0,30}\b(?:see|shown|image|picture|below)\b",
    r"\benable (?:javascript and cookies|cookies and javascript|js and disable)\b",
    r"\b(?:complete|solve|pass|finish)\b[^.?!]{0,30}\b(?:captcha|security check|challenge)\b",
    r"\b(?:web application|website) firewall\b"
    r"|\bsecurity (?:service|solution|system|rules?)\b[^.?!]{0,40}\b(?:protect|block|trigger)",
    r"\byou (?:have been|are|were) blocked\b"
    r"|\b(?:your|this|the) (?:ip(?: address)?|access|request)\b[^.?!]{0,30}\b(?:been|was|is) (?:automatically )?"
    r"(?:banned|blocked|limited|rejected|restricted)\b",
    r"\b(?:ray|incident|support|block|event) id\b|\breference (?:id|number|#)",
)
OTHER_LANGUAGES = {
    "German": (
        r"\b(?:kein(?:en)? roboter|ein mensch)\b[^.?!]{0,30}|\bsie (?:ein )?mensch\b",
        r"\b(?:ungewöhnlich|verdächtig)\w* (?:aktivität|datenverkehr|zugriff|verhalten|anfrage)"
        r"|\bautomatisierte\w* (?:anfrage|zugriff)",
    ),
    "French": (
        r"\b(?:vous êtes|être) (?:bien )?(?:un )?(?:humain|être humain)|\bpas un robot\b",
        r"\b(?:trafic|activité|comportement) (?:inhabituel|suspect|anormal)|\b(?:requêtes|accès) automatis",
    ),
    "Spanish": (
        r"\beres (?:un )?(?:humano|ser humano)|\bno (?:soy|eres|es) un robot\b|\bes (?:usted )?(?:un )?humano\b",
        r"\b(?:tráfico|actividad|comportamiento) (?:inusual|sospechos|anormal)|\b(?:solicitudes|accesos) automatizad",
    ),
    "Portuguese": (
        r"\bvocê (?:é|não é) (?:um )?(?:humano|ser humano|robô)|\bnão (?:sou|é) um robô\b",
        r"\b(?:tráfego|atividade|comportamento) (?:incomum|suspeit|anormal)",
    ),
    "Italian": (
        r"\bnon (?:sono|sei) un robot\b|\bsei (?:un )?(?:umano|essere umano)\b",
        r"\b(?:traffico|attività|comportamento) (?:insolit|sospett|anomal)",
    ),
    "Dutch": (
        r"\bgeen robot\b|\b(?:je|u) een mens (?:bent|ben)\b",
        r"\b(?:ongebruikelijk|verdacht)\w* (?:verkeer|activiteit|gedrag)",
    ),
    "Russian": (
        r"\bне робот|\bвы (?:человек|не бот)",
        r"\b(?:подозрительн|необычн)\w* (?:трафик|активност|запрос)|\bавтоматическ\w* запрос",
    ),
    "Chinese": (
        r"(?:不是|非)机器人|真人|人机验证",
        r"(?:异常|可疑)(?:流量|访问|请求|行为)|访问(?:过于)?频繁|请求(?:被|已被)(?:拦截|阻断)",
        r"(?:完成|进行|通过).{0,8}(?:安全)?验证|(?:拖动|滑动|按住)滑块|拼图",
    ),
    "Japanese": (
        r"ロボット(?:では|で)(?:ない|ありません)|人間(?:である|であること)",
        r"(?:通常と異なる|不審な|異常な)(?:トラフィック|アクセス|アクティビティ)",
        r"パズル|(?:認証|検証)を(?:完了|行)",
    ),
}
WORDING = [
    re.compile(pattern, re.IGNORECASE) for pattern in (*_ENGLISH, *(p for ps in OTHER_LANGUAGES.values() for p in ps))
]
"""What challenges say, each at most one signal."""
REFUSAL = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"you don(?:'t|’t) have permission to access.{0,200}\breference #\s?\d+\.[0-9a-f]+",  # Akamai
        r"\bincapsula incident id\b|powered by\s+(?:incapsula|imperva)",
        r"requested url was rejected.{0,120}support id",  # F5
        r"error\s+10(?:06|07|08|09|10|12|15|20)\b.{0,300}\bcloudflare\b",
        r"\brequest blocked\b.{0,300}\bcloudfront\b",
        r"\bgenerated by mod_?security\b",
        r"\baccess to this (?:service|site) has been limited\b.{0,1200}\bwordfence\b",
        r"疑似攻击|(?:访问|请求)(?:已)?被(?:拦截|阻断)",
    )
]
"""What protections say when they refuse without a challenge."""
