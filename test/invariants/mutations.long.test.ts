import './mutations.test.ts'
