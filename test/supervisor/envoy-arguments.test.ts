import t from 'tap'
import { envoyArguments } from '../../src/supervisor/envoy-arguments.ts'

const argumentOf = (name: string, cores: number) => {
  const args = envoyArguments('run/envoy.json', cores)
  return args[args.indexOf(name) + 1]
}

t.test('Envoy has one worker up to three cores, then half as many workers as cores', async (t) => {
  const workers = [1, 2, 3, 4, 5, 8, 64].map((cores) => [cores, argumentOf('--concurrency', cores)])
  t.same(workers, [
    [1, '1'],
    [2, '1'],
    [3, '1'],
    [4, '2'],
    [5, '2'],
    [8, '4'],
    [64, '32'],
  ])
})

t.test('Envoy reads its bootstrap file', async (t) => {
  t.equal(argumentOf('--config-path', 8), 'run/envoy.json')
})
