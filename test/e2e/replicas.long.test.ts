import './replicas.test.ts'
