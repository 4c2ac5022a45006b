/** A service beside another one, in this process; asked over IPC by `beside.ts`. Ends when its parent is gone. */
import type { Test } from 'tap'
import type { Beginning, Question, Reply } from './beside.ts'
import { startTestService, type TestService, testClock } from './service.ts'

const closers: (() => unknown)[] = []
const scope = { teardown: (close: () => unknown) => closers.unshift(close) } as unknown as Test

const begin = ({ now, ...shared }: Beginning): Promise<TestService> =>
  startTestService(scope, { beside: { ...shared, clock: testClock(now) } })

const response = async (service: TestService, question: Question): Promise<unknown> =>
  question.kind === 'call'
    ? service.call(question.method, question.path, question.sent)
    : service.kernel.registry.ports.members!.acceptInvitation(...question.args)

let service: TestService | undefined
process.on('message', async (message: Beginning | Question) => {
  const reply = (message: Reply) => process.send?.(message)
  if (service === undefined) {
    service = await begin(message as Beginning)
    reply({ number: 0, value: undefined })
    return
  }
  const { number } = message as Question
  try {
    reply({ number, value: await response(service, message as Question) })
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
    reply({ number, error: { code, message: String(thrown) } })
  }
})
process.on('disconnect', async () => {
  for (const close of closers) await close()
  process.exit()
})
