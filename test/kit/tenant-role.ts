import { Client } from 'pg'
import { command } from '../commands/in-process.ts'
import { queryPostgres } from './postgres.ts'

/** Runs `sidevault keys delegate`, and its SQL as the superuser `admin`; the address of the new role. */
export const delegateTenant = async (
  env: Readonly<Record<string, string>>,
  { admin, tenant, name, out }: { admin: string; tenant: string; name: string; out: string },
): Promise<string> => {
  const args = ['keys', 'delegate', '--tenant', tenant, '--to', name, '--out', out]
  const { code, out: sql, err } = await command(process.cwd(), args, env)
  if (code !== 0) throw new Error(err)
  const database = new URL(env.SIDEVAULT_STORE!).pathname
  const address = new URL(admin)
  address.pathname = database
  await queryPostgres(address.href, sql)
  return /SIDEVAULT_STORE=(\S+)/.exec(sql)![1]!.replace(/^'|'$/g, '')
}

/** A connection until `t` ends. */
export const connected = async (
  t: { teardown(end: () => Promise<void>): void },
  connectionString: string,
): Promise<Client> => {
  const client = new Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.end().catch(() => {}))
  return client
}
