import { button } from '../../kit/button.ts'
import { confirm } from '../../kit/dialog.ts'
import { difference } from '../../kit/difference.ts'
import { action, formProblem } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import type { ListResponse } from '../../kit/list.ts'
import { notice } from '../../kit/notice.ts'
import { resource, show } from '../../kit/resource.ts'
import { table } from '../../kit/table.ts'
import { relativeTime } from '../../kit/time.ts'
import { link } from '../../router.ts'
import { may } from '../../session.ts'
import { type ProxyPage, type ProxyVersion, restorePatch, TRANSFORM_KINDS, TRANSFORMS } from './types.ts'

const differences = (from: ProxyVersion, to: ProxyVersion): TemplateResult => {
  const changed = TRANSFORM_KINDS.filter((kind) => from[kind]?.code !== to[kind]?.code)
  const otherwise = [from, to].map((version) => version.response_transform?.otherwise ?? 'fail')
  return html`
    ${changed.map((kind) =>
      difference(
        from[kind]?.code ?? '',
        to[kind]?.code ?? '',
        `${TRANSFORMS[kind]}, version ${from.version} to ${to.version}`,
      ),
    )}
    ${otherwise[0] === otherwise[1] ? nothing : html`<p>Other content types: ${otherwise[0]} before, ${otherwise[1]} after.</p>`}
    ${changed.length === 0 && otherwise[0] === otherwise[1] ? html`<p>The code is the same.</p>` : nothing}
  `
}

/** The newest versions of a proxy's code: compare with the current one, and restore. */
export const versionsSection = ({ context, stored, path, patch }: ProxyPage): (() => TemplateResult) => {
  const { api, filters, setFilters, signal } = context
  const versions = resource(async (abort) => {
    stored.value // a saved version adds one
    const page = await api.call<ListResponse<ProxyVersion>>('GET', `${path}/versions`, {
      query: { size: 20 },
      signal: abort,
    })
    return page.data
  }, signal)
  let wanted: ProxyVersion | undefined
  const restore = action(async () => {
    const [current] = versions.value.peek() ?? []
    if (wanted === undefined || current === undefined) return
    const { version } = wanted
    const isConfirmed = await confirm({
      title: `Restore version ${version}?`,
      body: html`<p>It becomes the newest version, and runs from the next request on.</p>
        ${differences(current, wanted)}`,
      action: 'Restore',
    })
    if (!isConfirmed) return
    await patch(restorePatch(wanted))
    setFilters({ compare: undefined })
    notice('done', `Version ${version} restored.`)
  })
  const restoreButton = (version: ProxyVersion) => {
    const click = () => {
      wanted = version
      return restore.run()
    }
    return button('Restore', click, {
      name: `Restore version ${version.version}`,
      disabled: restore.busy.value,
    })
  }
  const by = ({ created_by }: ProxyVersion) =>
    may('application:read')
      ? html`<a href=${link`/applications/${created_by}`}><code>${created_by.slice(0, 8)}</code></a>`
      : html`<code>${created_by.slice(0, 8)}</code>`

  return () =>
    show(versions, (all) => {
      const [current] = all
      const compared = all.find(({ version }) => String(version) === filters.value.get('compare'))
      return html`
        ${formProblem(restore.error.value)}
        ${table({
          caption: 'Versions of the code',
          rows: all,
          key: ({ version }) => String(version),
          columns: [
            {
              head: 'Version',
              cell: ({ version }) => (version === current?.version ? `${version} (current)` : version),
            },
            { head: 'Saved', cell: ({ created_at }) => relativeTime(created_at) },
            { head: 'By', cell: by },
            {
              head: 'Actions',
              cell: (saved) =>
                saved === current
                  ? nothing
                  : html`${button('Compare', () => setFilters({ compare: String(saved.version) }), {
                      name: `Compare version ${saved.version} with the current one`,
                    })}
                    ${may('proxy:update') ? restoreButton(saved) : nothing}`,
            },
          ],
        })}
        ${compared === undefined || current === undefined ? nothing : differences(compared, current)}
      `
    })
}
