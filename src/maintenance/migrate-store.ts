import { AppError } from '../common/errors.ts'
import { parsePostgres, SettingError } from '../config/parse.ts'
import type { Config } from '../config.ts'
import { copyToPostgres } from '../store/migrate-store/migrate-store.ts'
import { explain, withClient } from '../store/postgres/open.ts'
import { StartError } from '../supervisor/start-error.ts'
import { type Print, rejectAbsentFile } from './open-vault.ts'

const wrongUsage = (message: string): StartError => new StartError(message, { configuration: true })

const FORM = 'Write postgres://user:password@host:5432/database, or env:<NAME>.'

const parseAddress = (text: string): string => {
  if (!/^postgres(ql)?:/.test(text) || !URL.canParse(text))
    throw wrongUsage(`The value of --to is not the URL of a PostgreSQL database. ${FORM}`)
  try {
    return parsePostgres(text)
  } catch (thrown) {
    if (!(thrown instanceof SettingError)) throw thrown
    throw wrongUsage(`The value of --to cannot be used: ${thrown.message} ${thrown.fix}`)
  }
}

/** Resolves `--to`: an address, or `env:<NAME>`, since other users can see a command line. */
const addressIn = (to: string, warn: Print): string => {
  if (to.startsWith('env:')) {
    const name = to.slice('env:'.length)
    const address = process.env[name]
    if (!address)
      throw wrongUsage(`The environment variable "${name}" of --to is not set. Set it to postgres://….`)
    return parseAddress(address)
  }
  const address = parseAddress(to)
  if (new URL(address).password !== '')
    warn(
      'warning: other users and the shell history can see a password on the command line. Use --to env:<NAME> or PGPASSWORD.',
    )
  return address
}

/** Rejects with StartError if the server cannot be used. */
const checkServer = async (address: string): Promise<void> => {
  try {
    await withClient(address, async () => {})
  } catch (thrown) {
    const explained = explain(thrown)
    if (!(explained instanceof AppError)) throw explained
    throw new StartError(explained.message.replaceAll('SIDEVAULT_STORE', '--to'))
  }
}

/** Migrates the vault of the data directory to PostgreSQL, with a line for each table. */
export const migrateStore = async (config: Config, to: string, print: Print, warn: Print): Promise<void> => {
  const address = addressIn(to, warn)
  rejectAbsentFile(config)
  await checkServer(address)
  let reported = performance.now()
  const rows = await copyToPostgres({
    from: config.store,
    to: address,
    onRows: (name, count) => {
      if (performance.now() - reported < 1_000) return
      reported = performance.now()
      print(`…       ${name}: ${count} rows so far`)
    },
    onTable: (name, count) => print(`ok      ${name}: ${count} rows, equal on both sides`),
  })
  print(`${rows} rows were copied. The file is read-only now.`)
  print('Stop the service if it runs, set SIDEVAULT_STORE to the new address, and start it again.')
}
