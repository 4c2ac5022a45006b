import './transports.test.ts'
