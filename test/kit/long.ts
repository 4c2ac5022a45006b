/** Whether clocks and memory judge, and rounds are many: `npm run test:long` (bin/test.js). */
export const LONG = process.env.SIDEVAULT_TEST_LONG === '1'
