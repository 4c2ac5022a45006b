import './replicas.program.test.ts'
