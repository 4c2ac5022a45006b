import t from 'tap'
import { createInProcessState } from '../../src/shared-state/in-process.ts'
import { sharedStateContract } from '../contract/shared-state-contract.ts'

sharedStateContract(t, async (_t, clock) => createInProcessState({ clock }))

t.test('in-process state reaches its own process only', async (t) => {
  t.equal(createInProcessState({ clock: { now: () => 0 } }).backend, 'own')
})
