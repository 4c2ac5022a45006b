import t from 'tap'
import { LONG } from '../kit/long.ts'
import { compareWithCalls } from './access-property.ts'

t.test('access reports and their differences match the results of the calls', (t) =>
  compareWithCalls(t, LONG ? 3_400 : 40),
)
