import { path } from '../../api/client.ts'
import { headerPrefix } from '../../api/prefix.ts'
import { configurationForm } from '../../kit/configuration-form.ts'
import { copyable } from '../../kit/copy.ts'
import { deletion } from '../../kit/deletion.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { masked } from '../../kit/masked.ts'
import { problem } from '../../kit/problem.ts'
import { resource, show } from '../../kit/resource.ts'
import type { Screen, ScreenContext } from '../../kit/screen.ts'
import { section } from '../../kit/section.ts'
import { signal } from '../../kit/signals.ts'
import { snippet } from '../../kit/snippet.ts'
import { when } from '../../kit/time.ts'
import { hashOf, link } from '../../router.ts'
import { may } from '../../session.ts'
import { certificatesSection } from './certificates.ts'
import { codeSection } from './code.ts'
import { settingsSection } from './settings.ts'
import type { ProxyPage, StoredProxy } from './types.ts'
import { versionsSection } from './versions.ts'

const facts = (page: ProxyPage): (() => TemplateResult) => {
  const key = masked('proxy key')
  return () => {
    const proxy = page.proxy.value
    const call = { query: { [`${headerPrefix().toLowerCase()}-proxy-key`]: 'YOUR_PROXY_KEY' }, body: {} }
    return html`<dl class="facts">
        <dt>Destination</dt>
        <dd><code>${proxy.destination_url}</code></dd>
        <dt>Proxy key</dt>
        <dd>${key(proxy.key)}</dd>
        <dt>Id</dt>
        <dd>${copyable(proxy.id)}</dd>
        <dt>Created</dt>
        <dd>${when(proxy.created_at)}</dd>
        ${proxy.modified_at === undefined ? nothing : html`<dt>Changed</dt><dd>${when(proxy.modified_at)}</dd>`}
        ${
          proxy.application_id === undefined
            ? nothing
            : html`<dt>Application</dt>
                <dd><a href=${link`/applications/${proxy.application_id}`}><code>${proxy.application_id}</code></a></dd>`
        }
      </dl>
      <div class="buttons">
        <span class="soft">A call through it</span> ${snippet('POST', '/proxy', call)}
        <span class="soft">This proxy in the API</span> ${snippet('GET', path`/proxies/${proxy.id}`)}
      </div>`
  }
}

const sections = (page: ProxyPage): (() => TemplateResult) => {
  const configuration = configurationForm({
    id: 'configuration',
    stored: () => page.proxy.value.configuration ?? {},
    save: (changes) => page.patch({ configuration: changes }),
    isReadonly: !may('proxy:update'),
  })
  const [summary, code, settings] = [facts(page), codeSection(page), settingsSection(page)]
  const [certificates, versions] = [certificatesSection(page), versionsSection(page)]
  return () => html`<div class="sections">
    <div>${summary()}</div>
    ${section('code', 'Code', code())}
    ${section('settings', 'Settings', settings())}
    ${section('configuration-title', 'Configuration', configuration())}
    ${section('certificates', 'Certificates', certificates())}
    ${section('versions', 'Versions', versions())}
  </div>`
}

const pageOf = (context: ScreenContext, first: StoredProxy): ProxyPage => {
  const proxy = signal(first)
  const where = path`/proxies/${first.id}`
  const fresh = () => context.api.call<StoredProxy>('GET', where, { signal: context.signal })
  return {
    context,
    proxy,
    fresh,
    patch: async (changes) => {
      await context.api.call('PATCH', where, { body: changes })
      proxy.value = await fresh()
      context.title(proxy.value.name)
    },
  }
}

export const proxyScreen: Screen = {
  path: '/proxies/:id',
  title: 'Proxy',
  needs: (may) => may('proxy:read'),
  open: (context) => {
    const { id = '' } = context.params
    const where = path`/proxies/${id}`
    const loaded = resource(async (abort) => {
      const proxy = await context.api.call<StoredProxy>('GET', where, { signal: abort })
      context.title(proxy.name)
      const page = pageOf(context, proxy)
      return { page, view: sections(page) }
    }, context.signal)
    const remove = deletion(context, {
      what: 'Proxy',
      path: where,
      back: '#/proxies',
      body: 'Its key stops working at once. Its code and former versions are deleted.',
      of: () => loaded.value.peek()?.page.proxy.peek(),
    })
    return {
      actions: () =>
        loaded.value.value === undefined
          ? html``
          : html`<a class="button" href=${hashOf('/try', { proxy: id })}>Try this proxy</a>
              ${
                may('proxy:delete')
                  ? html`<button type="button" class="danger" ?disabled=${remove.busy.value} @click=${remove.run}>
                      Delete
                    </button>`
                  : nothing
              }`,
      view: () =>
        html`${remove.error.value === undefined ? nothing : problem(remove.error.value)}
        ${show(loaded, ({ view }) => view())}`,
    }
  },
}
