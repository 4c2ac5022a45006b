import type { Operation } from '../sdk/index.ts'
import { placeOf } from './check-plugin.ts'
import { type Fault, faultsAt } from './faults.ts'
import { createMessages } from './messages/create.ts'
import type { LoadedPlugin } from './types.ts'

/** Others are faulty for that alone, which is said elsewhere. */
const isNamed = ({ rpc, http }: Operation) => typeof rpc === 'string' && typeof http === 'string'

/** Faults of the messages that operations have on gRPC: names wanted twice, names and numbers that are ours. */
export const checkMessages = (loaded: readonly LoadedPlugin[], faults: Fault[]): void => {
  const all = loaded.flatMap(({ plugin, contribution }) =>
    (contribution.operations ?? []).filter(isNamed).map((operation) => ({ plugin, operation })),
  )
  for (const { rpc, problem, remedy } of createMessages(all.map(({ operation }) => operation)).faults) {
    const owner = all.find(({ operation }) => operation.rpc === rpc)
    const place = owner === undefined ? '' : `${placeOf(owner.plugin)} › `
    faultsAt(`${place}operation "${rpc}"`, faults).add(problem, remedy)
  }
}
