import { checkExamples, checkRejections } from './table.ts'

checkExamples([
  ['3622720627165567', '| last4', '5567'],
  ['67', '| last4', '67'],
  [123456, '| last4', '3456'],
  ['36227206271667', '| reveal_last: 6', 'XXXXXXXX271667'],
  ['36227206271667', "| reveal_last: 3, '#'", '###########667'],
  ['4242424242424242', '| reveal_last: 4', 'XXXXXXXXXXXX4242'],
  ['4242-4242-4242-4242', '| reveal_last: 4', 'XXXX-XXXX-XXXX-4242'],
  ['123-45-6789', '| reveal_last: 4', 'XXX-XX-6789'],
  ['123', '| reveal_last: 4', '123'],
  ['1234', "| reveal_last: '2'", 'XX34'],
  [987654, '| reveal_last: 0', 'XXXXXX'],
  ['a💳bc', '| reveal_last: 2', 'XXbc'],
  ['3622-7206-2716-5567', '| reveal: 6', '3622-7XXXXXXXXXXXXX'],
  ['3622-7206-2716-5567', '| reveal: 7, 5', '3622-72XXXXXXX-5567'],
  ['3622-7206-2716-5567', "| reveal: 7, 5, '#'", '3622-72#######-5567'],
  ['3622-7206-2716-5567', '| reveal: 7, 4, \'#\', "-"', '3622-72##-####-5567'],
  ['3622-7206-2716-5567', '| reveal: 10, 9', 'XXXXXXXXXXXXXXXXXXX'],
  ['secret', '| reveal', 'XXXXXX'],
  ['secret', '| reveal: 0, 6', 'XXXXXX'],
  ['----', "| reveal: 1, 1, 'X', '-'", 'XXXX'],
  [null, '| last4', null],
  [null, '| reveal_last: 4', null],
  [null, '| reveal: 1, 2', null],
])

checkRejections([
  ['4242424242424242', '| reveal_last'],
  ['4242424242424242', '| reveal_last: -1'],
  ['4242424242424242', '| reveal_last: 1.5'],
  ['4242424242424242', "| reveal_last: 'four'"],
  ['4242424242424242', "| reveal_last: 4, 'XX'"],
  ['4242424242424242', "| reveal_last: 4, ''"],
  ['4242424242424242', '| reveal_last: length: 4'],
  [{ number: '4242' }, '| reveal_last: 4'],
  [['4242'], '| last4'],
])
