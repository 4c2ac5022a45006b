import './mutations.shared.test.ts'
