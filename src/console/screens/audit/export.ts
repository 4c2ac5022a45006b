import type { LogEntry } from '../../api/types.ts'
import type { ListResponse } from '../../kit/list.ts'

/** Records of a page, the most that the API gives. */
const PAGE = 1_000

export interface ExportProgress {
  readonly records: number
  /** Number of records when the export began. Later records are not in the file. */
  readonly total: number | undefined
}

/**
 * All records as NDJSON, newest first, page by page. The browser may hold parts of a Blob on disk. Rejects when
 * `signal` aborts or a page fails: a file that is not complete is never made.
 */
export const exportLogs = async (
  loadPage: (page: { readonly start?: string; readonly size: number }) => Promise<ListResponse<LogEntry>>,
  { signal, onProgress }: { readonly signal: AbortSignal; onProgress(progress: ExportProgress): void },
): Promise<Blob> => {
  const parts: Blob[] = []
  let records = 0
  let total: number | undefined
  let start: string | undefined
  do {
    signal.throwIfAborted()
    const { data, pagination } = await loadPage({ ...(start === undefined ? {} : { start }), size: PAGE })
    parts.push(new Blob(data.map((record) => `${JSON.stringify(record)}\n`)))
    records += data.length
    total ??= pagination.total_items
    start = pagination.next
    onProgress({ records, total })
  } while (start !== undefined)
  signal.throwIfAborted()
  return new Blob(parts, { type: 'application/x-ndjson' })
}

/** Has the browser store a file. */
export const download = (file: Blob, name: string): void => {
  const anchor = document.createElement('a')
  anchor.href = URL.createObjectURL(file)
  anchor.download = name
  anchor.click()
  // The download reads the URL after this task.
  setTimeout(() => URL.revokeObjectURL(anchor.href), 60_000)
}
