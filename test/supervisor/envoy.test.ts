import t from 'tap'
import { envoyArguments, envoyWorkers } from '../../src/supervisor/envoy.ts'

t.test('Envoy has one worker up to three cores, then half as many workers as cores', async (t) => {
  const workers = [1, 2, 3, 4, 5, 8, 64].map((cores) => [cores, envoyWorkers(cores)])
  t.same(workers, [
    [1, 1],
    [2, 1],
    [3, 1],
    [4, 2],
    [5, 2],
    [8, 4],
    [64, 32],
  ])
})

t.test('Envoy is started with its number of workers', async (t) => {
  const given = envoyArguments('run/envoy.json', 8)
  t.equal(given[given.indexOf('--concurrency') + 1], '4')
  t.equal(given[given.indexOf('--config-path') + 1], 'run/envoy.json')
})
