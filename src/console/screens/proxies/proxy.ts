import { headerPrefix } from '../../api/prefix.ts'
import { configurationForm } from '../../kit/configuration-form.ts'
import { copyable } from '../../kit/copy.ts'
import { entityScreen } from '../../kit/entity-screen.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { secretValue } from '../../kit/secret-value.ts'
import { section } from '../../kit/section.ts'
import { snippet } from '../../kit/snippet.ts'
import { relativeTime } from '../../kit/time.ts'
import { hashOf, link } from '../../router.ts'
import { may } from '../../session.ts'
import { certificatesSection } from './certificates.ts'
import { codeSection } from './code.ts'
import { settingsSection } from './settings.ts'
import type { ProxyPage, StoredProxy } from './types.ts'
import { versionsSection } from './versions.ts'

const facts = ({ stored, path }: ProxyPage): (() => TemplateResult) => {
  const key = secretValue('proxy key')
  return () => {
    const proxy = stored.value
    const call = { query: { [`${headerPrefix().toLowerCase()}-proxy-key`]: 'YOUR_PROXY_KEY' }, body: {} }
    return html`<div>
      <dl class="facts">
        <dt>Destination</dt>
        <dd><code>${proxy.destination_url}</code></dd>
        <dt>Proxy key</dt>
        <dd>${key(proxy.key)}</dd>
        <dt>Id</dt>
        <dd>${copyable(proxy.id)}</dd>
        <dt>Created</dt>
        <dd>${relativeTime(proxy.created_at)}</dd>
        ${proxy.modified_at === undefined ? nothing : html`<dt>Changed</dt><dd>${relativeTime(proxy.modified_at)}</dd>`}
        ${
          proxy.application_id === undefined
            ? nothing
            : html`<dt>Application</dt>
                <dd><a href=${link`/applications/${proxy.application_id}`}><code>${proxy.application_id}</code></a></dd>`
        }
      </dl>
      <div class="buttons">
        <span class="soft">A call through it</span> ${snippet('POST', '/proxy', call)}
        <span class="soft">This proxy in the API</span> ${snippet('GET', path)}
      </div>
    </div>`
  }
}

export const proxyScreen = entityScreen<StoredProxy>({
  what: 'Proxy',
  api: '/proxies',
  screen: '/proxies',
  permission: 'proxy',
  deletionText: 'Its key stops working at once. Its code and former versions are deleted.',
  actions: (id) => html`<a class="button" href=${hashOf('/try', { proxy: id })}>Try this proxy</a>`,
  sections: (page) => {
    const configuration = configurationForm({
      stored: () => page.stored.value.configuration ?? {},
      save: (changes) => page.patch({ configuration: changes }),
      isReadonly: !may('proxy:update'),
    })
    const [summary, code, settings] = [facts(page), codeSection(page), settingsSection(page)]
    const [certificates, versions] = [certificatesSection(page), versionsSection(page)]
    return () => html`
      ${summary()} ${section('code', 'Code', code())} ${section('settings', 'Settings', settings())}
      ${section('configuration', 'Configuration', configuration())}
      ${section('certificates', 'Certificates', certificates())}
      ${section('versions', 'Versions', versions())}
    `
  },
})
