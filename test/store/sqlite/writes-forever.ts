/**
 * Child of durability.integration.test.ts: creates tokens until it is killed, and prints an id when its write was
 * acknowledged.
 */
import { writeSync } from 'node:fs'
import { openStore } from '../../../src/store/open.ts'
import { aToken, NOW, silent } from '../kit.ts'

const store = await openStore({ location: process.argv[2] as string, mode: 'read-write', log: silent })

const writeForever = async (): Promise<never> => {
  for (;;) {
    const pair = [1, 2].map(() =>
      aToken({ terms: [Buffer.from('a'), Buffer.from('b')], metadata: { x: '1', y: '2' } }),
    )
    await store.tokens.create(pair, NOW)
    writeSync(1, `${pair.map(({ id }) => id).join(' ')}\n`)
  }
}

await Promise.all(Array.from({ length: 16 }, writeForever))
