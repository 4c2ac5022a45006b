import { existsSync } from 'node:fs'
import { verifyJournals } from '../audit/verify.ts'
import { createLog } from '../common/log.ts'
import type { Config } from '../config.ts'
import { openStore } from '../store/open.ts'
import { StartError } from '../supervisor/start-error.ts'
import { journalDirectory, openStoreKeys } from './foundation.ts'

/** Checks the hash chain of every journal of the data directory and prints a line for each; true when all hold. */
export const verifyAudit = async (config: Config, print: (line: string) => void): Promise<boolean> => {
  if (!existsSync(config.store))
    throw new StartError(
      `There is no database in "${config.dataDir}". Set SIDEVAULT_DATA_DIR to the data directory of the service.`,
    )
  const log = createLog('audit', config.logLevel)
  const store = await openStore({ location: config.store, mode: 'read-only', log })
  try {
    const keys = await openStoreKeys(config, store, false)
    const mac = (data: string | Buffer) => keys.mac('audit', data)
    const report = await verifyJournals({ mac, logs: store.logs }, journalDirectory(config))
    for (const { name, records, fault } of report.journals)
      print(
        fault === undefined
          ? `ok      ${name}: ${records} records`
          : `BROKEN  ${name}: ${fault.file} line ${fault.line}, record ${fault.seq}: ${fault.reason}; ${records} records before it hold`,
      )
    if (report.journals.length === 0) print('There is no journal yet.')
    return report.ok
  } finally {
    await store.close()
  }
}
