import { headerPrefix } from '../../api/prefix.ts'
import { configurationForm } from '../../kit/configuration-form.ts'
import { entityScreen } from '../../kit/entity-screen.ts'
import { html } from '../../kit/html.ts'
import { secretValue } from '../../kit/secret-value.ts'
import { snippet } from '../../kit/snippet.ts'
import { hashOf, link } from '../../router.ts'
import { may } from '../../session.ts'
import { certificatesSection } from './certificates.ts'
import { codeSection } from './code.ts'
import { settingsSection } from './settings.ts'
import type { StoredProxy } from './types.ts'
import { versionsSection } from './versions.ts'

export const proxyScreen = entityScreen<StoredProxy>({
  what: 'Proxy',
  api: '/proxies',
  screen: '/proxies',
  permission: 'proxy',
  deletionText: 'Its key stops working at once. Its code and former versions are deleted.',
  actions: (id) => html`<a class="button" href=${hashOf('/try', { proxy: id })}>Try this proxy</a>`,
  open: (page) => {
    const key = secretValue('proxy key')
    const call = { query: { [`${headerPrefix().toLowerCase()}-proxy-key`]: 'YOUR_PROXY_KEY' }, body: {} }
    return {
      facts: () => {
        const { destination_url, key: value, application_id: id } = page.stored.value
        return [
          ['Destination', html`<code>${destination_url}</code>`],
          ['Proxy key', key(value)],
          ['Application', id && html`<a href=${link`/applications/${id}`}><code>${id}</code></a>`],
        ]
      },
      call: snippet('POST', '/proxy', call),
      sections: {
        Code: codeSection(page),
        Settings: settingsSection(page),
        Configuration: configurationForm({
          stored: () => page.stored.value.configuration ?? {},
          save: (changes) => page.patch({ configuration: changes }),
          isReadonly: !may('proxy:update'),
        }),
        Certificates: certificatesSection(page),
        Versions: versionsSection(page),
      },
    }
  },
})
