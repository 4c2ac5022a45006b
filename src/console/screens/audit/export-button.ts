import type { LogEntry } from '../../api/types.ts'
import { action } from '../../kit/form.ts'
import { html, nothing, type TemplateResult } from '../../kit/html.ts'
import type { ListResponse } from '../../kit/list.ts'
import { notice } from '../../kit/notice.ts'
import { count } from '../../kit/numbers.ts'
import { problem } from '../../kit/problem.ts'
import type { ScreenContext } from '../../kit/screen.ts'
import { signal } from '../../kit/signals.ts'
import { download, type ExportProgress, exportLogs } from './export.ts'
import { queryOf } from './filters.ts'

interface ExportButton {
  button(): TemplateResult
  /** Progress with a button that aborts; an error. */
  status(): TemplateResult | typeof nothing
}

/** Exports the records that the filters name, as a file. */
export const createExport = (context: ScreenContext): ExportButton => {
  const progress = signal<ExportProgress>({ records: 0, total: undefined })
  let aborting = new AbortController()

  const run = action(async () => {
    aborting = new AbortController()
    const within = AbortSignal.any([aborting.signal, context.signal])
    const query = queryOf(context.filters.peek())
    progress.value = { records: 0, total: undefined }
    try {
      const file = await exportLogs(
        (page) =>
          context.api.call<ListResponse<LogEntry>>('GET', '/logs', {
            query: { ...query, ...page },
            signal: within,
          }),
        { signal: within, onProgress: (now) => (progress.value = now) },
      )
      download(file, `audit-${new Date().toISOString().slice(0, 16).replace(':', '-')}.ndjson`)
      notice('done', `${count(progress.peek().records)} records exported.`)
    } catch (thrown) {
      if (!within.aborted) throw thrown
      notice('info', 'Export aborted. No file was made.')
    }
  })

  return {
    button: () =>
      html`<button type="button" ?disabled=${run.busy.value} @click=${run.run}>Export as NDJSON</button>`,
    status: () => {
      if (run.error.value !== undefined) return problem(run.error.value, () => void run.run())
      if (!run.busy.value) return nothing
      const { records, total } = progress.value
      return html`<p class="export" role="status">
        <progress
          aria-label="Export"
          max=${total === undefined ? nothing : Math.max(total, records, 1)}
          value=${total === undefined ? nothing : records}
        ></progress>
        <span>${count(records)}${total === undefined ? '' : ` of ${count(total)}`} records</span>
        <button type="button" @click=${() => aborting.abort()}>Abort</button>
      </p>`
    },
  }
}
