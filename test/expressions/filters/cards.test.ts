import { checkExamples, checkRejections } from './table.ts'

const card = { number: '3622720627165567', expiration_month: 4, expiration_year: 2028 }

checkExamples([
  ['3622720627165567', "| card_mask: 'false', 'false', 'X', '-'", 'XXXXXXXXXXXXXXXX'],
  ['3622720627165567', "| card_mask: 'true', 'false', 'X', '-'", '36227206XXXXXXXX'],
  ['3622720627165567', "| card_mask: 'true', 'true', '#', '-'", '36227206####5567'],
  ['3622720627165567', "| card_mask: 'false', 'true', 'X', '-'", 'XXXXXXXXXXXX5567'],
  ['3622-7206-2716-5567', "| card_mask: 'false', 'false', 'X', '-'", 'XXXX-XXXX-XXXX-XXXX'],
  ['3622-7206-2716-5567', "| card_mask: 'true', 'false', 'X', '-'", '3622-7206-XXXX-XXXX'],
  ['3622-7206-2716-5567', "| card_mask: 'true', 'true', '#', '-'", '3622-7206-####-5567'],
  ['3622-7206-2716-5567', "| card_mask: 'false', 'true', 'X', '-'", 'XXXX-XXXX-XXXX-5567'],
  ['4242424242424242', "| card_mask: 'true', 'true'", '42424242XXXX4242'],
  ['4242424242424242', '| card_mask: true, true', '42424242XXXX4242'],
  ['4242424242424242', '| card_mask', 'XXXXXXXXXXXXXXXX'],
  ['378282246310005', "| card_mask: 'true', 'true'", '378282XXXXX0005'],
  ['4242424242', "| card_mask: 'true', 'true'", 'XXXXXXXXXX'],
  ['3622720627165567', '| card_bin', '36227206'],
  ['3622-7206-2716-5567', "| card_bin: '-'", '36227206'],
  ['378282246310005', '| card_bin', '378282'],
  [card, "| card_exp: 'MM'", '04'],
  [card, "| card_exp: 'MMYY'", '0428'],
  [card, "| card_exp: 'YYYY'", '2028'],
  [card, "| card_exp: 'YYYY-MM'", '2028-04'],
  [card, "| card_exp: 'YYYY/MM'", '2028/04'],
  [card, "| card_exp: 'MM/YY'", '04/28'],
  [card, "| card_exp: 'MM/YYYY'", '04/2028'],
  [card, "| card_exp: 'MM_YYYY'", '04_2028'],
  [card, "| card_exp: 'MM-YYYY'", '04-2028'],
  [{ expiration_month: '12', expiration_year: '2031' }, "| card_exp: 'MM/YY'", '12/31'],
  [{ number: '42' }, "| card_exp: 'MM/YY'", null],
  [null, "| card_exp: 'MM/YY'", null],
  [null, '| card_mask', null],
  [null, '| card_bin', null],
])

checkRejections([
  [card, '| card_exp'],
  [card, "| card_exp: 'DD/MM'"],
  [card, "| card_exp: 'constructor'"],
  ['3622720627165567', "| card_exp: 'MM'"],
  [{ expiration_month: 13, expiration_year: 2028 }, "| card_exp: 'MM'"],
  [{ expiration_month: 1, expiration_year: 28 }, "| card_exp: 'MM'"],
  ['3622720627165567', "| card_mask: 'yes'"],
  [card, '| card_mask'],
])
