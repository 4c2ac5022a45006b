import t from 'tap'
import { createLagMeter } from '../../src/common/lag-meter.ts'

/** A histogram whose longest interval is `max` ms, and what was done with it. */
const setup = () => {
  const done: string[] = []
  const histogram = {
    max: 0,
    enable: () => done.push('enable') > 0,
    disable: () => done.push('disable') > 0,
    reset: () => {
      histogram.max = 0
    },
  }
  return { done, histogram, meter: createLagMeter(histogram) }
}

t.test('the longest turn of an idle process is its active time, without a histogram', async (t) => {
  const { meter, done } = setup()
  for (const active of [1, 4, 2]) meter.sample(active)
  t.same([meter.longest(), done], [4, []])
  t.equal(meter.longest(), 0, 'a turn is reported once')
})

t.test('a busy process measures its turns until it is idle', async (t) => {
  const { meter, histogram, done } = setup()
  meter.sample(30)
  t.same(done, ['enable'])
  t.equal(meter.longest(), 30, 'a turn that made an idle process busy is not missed')
  histogram.max = 42e6
  meter.sample(100)
  histogram.max = 25e6
  t.equal(meter.longest(), 32)
  histogram.max = 17e6
  meter.sample(1)
  t.same([meter.longest(), done], [7, ['enable', 'disable']])
})
