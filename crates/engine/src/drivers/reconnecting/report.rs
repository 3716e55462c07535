//! What the loop learns of lost connections, and when.

use smbench_model::Nanos;
use smbench_protocol::NtStatus;

use super::attempts::replace;
use super::{LossStage, Reconnecting, ReconnectingConnector};
use crate::drivers::driver::{Answer, Connector, Extent, Sink};
use crate::drivers::dropped::Dropped;

impl<C: Connector> Reconnecting<C> {
    pub(super) fn report_cut_off(&mut self, sink: &mut impl Sink) {
        if let Some((since, clients)) = self.calls.take_cut_off() {
            sink.cut_off(since, clients);
        }
    }

    /// Reports that a connection is lost, or that all are back.
    #[cold]
    pub(super) fn report(&mut self, now: Nanos, sink: &mut impl Sink) -> Result<(), Dropped> {
        let Some(mut loss) = self.loss.take() else {
            return Ok(());
        };
        match loss.stage {
            LossStage::Found => {
                let since = self.calls.lose(loss.lost.at);
                sink.link_lost(&loss.lost, since, self.calls.take_channels());
                self.report_cut_off(sink);
                for (slot, kind) in self.calls.take_in_flight() {
                    let extent = if kind.is_repeatable() {
                        Extent::Repeatable
                    } else {
                        Extent::Lost
                    };
                    let status = NtStatus::CONNECTION_DISCONNECTED;
                    sink.answer(&Answer::bare(slot, extent, status))?;
                }
                let ReconnectingConnector {
                    connector, limit, ..
                } = self.connector.clone();
                let lost = (*loss.lost).clone();
                let remains = std::mem::take(&mut loss.remains);
                let opening = replace(connector, limit, self.clients.clone(), lost, remains);
                loss.stage = LossStage::Opening(Box::pin(opening));
                self.loss = Some(loss);
            }
            LossStage::Opening(_) => {
                self.report_cut_off(sink);
                self.loss = Some(loss);
            }
            LossStage::Left(driver, event) => {
                loss.stage = LossStage::Found;
                self.report_left(loss, driver, event, sink);
            }
            LossStage::Opened(opened) => {
                self.report_cut_off(sink);
                self.report_back(&opened, now, sink);
                for caching in opened.granted {
                    sink.granted(caching);
                }
                (0..opened.breaks).for_each(|_| sink.broken());
                for (took, outcome) in opened.acknowledged {
                    sink.acknowledged(took, outcome);
                }
            }
        }
        Ok(())
    }
}
