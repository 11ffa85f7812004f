// For tests: one device on its simulator.

export { oneDevice } from '../conformance/one_device.ts'
