import type { VaultTexts } from '../kit/demo-vault.ts'

/** The effect of each text if it becomes more than text: a title, and an element with this attribute. */
export const MARK = 'data-hostile'
const RUN = `document.title='hostile'`

/** Texts that leave the place of a text, in one of the languages of a page. Each is at most 200 characters. */
export const HOSTILE: readonly string[] = [
  `<img ${MARK} src=x onerror="${RUN}">`,
  `<script ${MARK}>${RUN}</script>`,
  `</title></style></textarea></script><script ${MARK}>${RUN}</script>`,
  `<svg ${MARK} onload=${RUN}><animate onbegin=${RUN} attributeName=x>`,
  `<iframe ${MARK} srcdoc="<script>top.${RUN}</script>"></iframe>`,
  `<a ${MARK} href="javascript:${RUN}">x</a>`,
  `" ${MARK} autofocus onfocus="${RUN}" x="`,
  `' ${MARK} onmouseover='${RUN}' x='`,
  `x ${MARK}=1 style=animation-name:x onanimationstart=${RUN}`,
  `javascript:${RUN}//`,
  `data:text/html,<script ${MARK}>${RUN}</script>`,
  '{{ 7*7 }} ${7*7} #{7*7} <%= 7*7 %> [[7*7]] {% raw %}',
  '${document.title="hostile"}',
  '<!--lit--><?lit$1$?>{{lit-1}}<!-- --!> --> ]]>',
  '&lt;b&gt;&#60;b&#62;&amp;nbsp;%3Cb%3E\\u003cb\\x3e',
  'safe\u202Etxt.exe\u2066\u2067\u200F\u061C\u202D end',
  'a\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308 \u{1F469}\u200D\u{1F4BB} \u0645\u0631\u062D\u0628\u0627',
  '__proto__',
  'constructor',
  '../../../console/session?x=1#/sign-out',
  'x\ty\u00A0z\u2028\u2029',
  `${'W'.repeat(199)}x`,
]

/** A vault whose every free text is hostile. */
export const HOSTILE_VAULT: VaultTexts = {
  tenant: HOSTILE[0] ?? '',
  names: HOSTILE,
  descriptions: HOSTILE.toReversed(),
  values: HOSTILE,
}

/** As an API would send it that bounds no text. */
export const LONG = `${HOSTILE[1]} ${'long '.repeat(2_000)}`

const FREE = new Set(
  'name description message detail title host route display_name email container code fingerprint node instance application proxy metadata data mask search_indexes entity_id actor_id entity_type actor_type operation surfaces role'.split(
    ' ',
  ),
)

let turn = 0

/** A copy of a response of the API in which each free text, also inside of these members, is a hostile one. */
export const poison = (value: unknown, isFree = false): unknown => {
  if (typeof value === 'string')
    return isFree ? (turn++ % 17 === 0 ? LONG : HOSTILE[turn % HOSTILE.length]) : value
  if (Array.isArray(value)) return value.map((item) => poison(item, isFree))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      poison(
        one,
        (FREE.has(name) && !(name === 'data' && Array.isArray(one))) ||
          (isFree && name !== 'id' && name !== 'type'),
      ),
    ]),
  )
}
