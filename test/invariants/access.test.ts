import t from 'tap'
import { sourcesIn } from '../kit/sources.ts'

/**
 * A rule about callers ("an application may be suspended") is written once and holds for the API, for the proxy and for
 * code, because each step of identify → authorize → audit exists once.
 */
const placesOf = (pattern: RegExp): readonly string[] =>
  sourcesIn('src', 'plugins')
    .filter(({ text }) => pattern.test(text))
    .map(({ path }) => path)

t.test('one function creates the caller of an application, for keys, sessions and code', async (t) => {
  t.same(placesOf(/actorType: 'application',/), ['plugins/applications/credentials.ts'])
})

t.test('one function decides whether the owner of a credential may call', async (t) => {
  t.same(placesOf(/\.expiresAt\b.*now\(\)|expiresAt <= clock/), ['src/kernel/invoke/authenticate.ts'])
})

t.test('one function authorizes calls of the API and of the proxy', async (t) => {
  t.same(placesOf(/import \{[^}]*\bauthorize\b[^}]*\} from '[./]+access\/authorize\.ts'/), [
    'src/gateway/steps/authorize.ts',
    'src/kernel/invoke/invoke.ts',
  ])
  t.same(
    placesOf(/\bgrants\b[^\n]*\.(?:includes|some|every)\(/).filter((path) => !path.startsWith('src/access/')),
    // Made of the public SDK alone, which has no such function (ADR 0145).
    ['plugins/webhooks/input.ts'],
    'grants are compared in src/access/ only',
  )
})

t.test('one function builds the audit records of callers and operators', async (t) => {
  const builders = placesOf(/\bactor_type: (?!string |'text')/).filter((path) => path.startsWith('src/'))
  t.same(builders, ['src/access/audit-record.ts'], 'plugins pass events to kernel.audit, never records')
})
