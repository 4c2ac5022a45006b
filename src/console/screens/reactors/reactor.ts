import { codeForm } from '../../kit/code-form.ts'
import { configurationForm } from '../../kit/configuration-form.ts'
import { copyable } from '../../kit/copy.ts'
import { type EntityPage, entityScreen } from '../../kit/entity-screen.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import { secretValue } from '../../kit/secret-value.ts'
import { section } from '../../kit/section.ts'
import { snippet } from '../../kit/snippet.ts'
import { relativeTime } from '../../kit/time.ts'
import { link } from '../../router.ts'
import { may } from '../../session.ts'
import { runSection } from './run.ts'
import { settingsSection } from './settings.ts'
import type { Reactor } from './types.ts'

const facts = ({ stored, path }: EntityPage<Reactor>): (() => TemplateResult) => {
  const key = secretValue('callback key')
  return () => {
    const { id, formula, application, callback_key, created_at, modified_at } = stored.value
    return html`<div>
      <dl class="facts">
        <dt>Code</dt>
        <dd>${formula === undefined ? 'its own' : html`<a href=${link`/formulas/${formula.id}`}>${formula.name}</a>`}</dd>
        <dt>Acts as</dt>
        <dd>
          ${application === undefined ? html`<span class="soft">its caller</span>` : html`<a href=${link`/applications/${application.id}`}>${application.name}</a>`}
        </dd>
        <dt>Callback key</dt>
        <dd>${key(callback_key)}</dd>
        <dt>Id</dt>
        <dd>${copyable(id)}</dd>
        <dt>Changed</dt>
        <dd>${relativeTime(modified_at ?? created_at)}</dd>
      </dl>
      <div class="buttons">
        <span class="soft">A call of it</span> ${snippet('POST', `${path}/react`, { body: { args: {} } })}
        <span class="soft">This reactor in the API</span> ${snippet('GET', path)}
      </div>
    </div>`
  }
}

export const reactorScreen = entityScreen<Reactor>({
  what: 'Reactor',
  api: '/reactors',
  screen: '/reactors',
  permission: 'reactor',
  deletionText: 'Calls of it fail from now on.',
  sections: (page) => {
    const { formula } = page.stored.peek()
    const code =
      formula === undefined
        ? codeForm(page, {
            members: [{ place: 'code', label: 'Code', codeOf: (reactor) => reactor.code ?? '' }],
            check: '/reactors/check-code',
            permission: 'reactor:update',
            patchOf: (codes) => Object.fromEntries(codes),
          })
        : undefined
    // A formula that declares values has a field for each, among the settings.
    const configuration =
      (formula?.configuration.length ?? 0) > 0
        ? undefined
        : configurationForm({
            stored: () => page.stored.value.configuration,
            save: (changes) => page.patch({ configuration: changes }),
            isReadonly: !may('reactor:update'),
          })
    const run = may('token:use') ? runSection(page) : undefined
    const [summary, settings] = [facts(page), settingsSection(page)]
    return () => html`
      ${summary()} ${code === undefined ? nothing : section('code', 'Code', code())}
      ${run === undefined ? nothing : section('run', 'Run', run())}
      ${section('settings', 'Settings', settings())}
      ${configuration === undefined ? nothing : section('configuration', 'Configuration', configuration())}
    `
  },
})
