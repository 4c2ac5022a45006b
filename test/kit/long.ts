/** True in `npm run test:long` (test/runner/run.ts): clocks and memory are checked, and rounds are many. */
export const LONG = process.env.SIDEVAULT_TEST_LONG === '1'
