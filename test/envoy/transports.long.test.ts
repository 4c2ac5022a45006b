import './transports.program.test.ts'
