import t from 'tap'
import { LONG } from '../kit/long.ts'
import { compareWithCalls } from './access-property.ts'

t.test('access and its differences are what the calls themselves give', (t) =>
  compareWithCalls(t, LONG ? 3_400 : 70),
)
