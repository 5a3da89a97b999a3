//! Which lineages there are of an instance, for whoever has no state to tell it.

use super::batch::FILTER_VALUES;
use super::ec2::Reader;
use super::error::CallError;
use super::pages::pages;
use super::tags;
use aws_sdk_ec2::operation::describe_tags::builders::DescribeTagsInputBuilder;
use aws_sdk_ec2::types::{Filter, TagDescription};
use std::cmp::Reverse;
use std::collections::BTreeMap;

fn filter(name: &str, values: Vec<String>) -> Filter {
    Filter::builder().name(name).set_values(Some(values)).build()
}

impl Reader {
    /// The lineages of the objects of EC2 that bear an instance's mark (not hashed): one, unless several states have made
    /// objects for it. The one with the most objects comes first.
    pub async fn lineages(&self, instance: &str) -> Result<Vec<String>, CallError> {
        let ids = self.objects_of(instance).await?;
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for some in ids.chunks(FILTER_VALUES) {
            let of_some = vec![filter("key", vec![tags::LINEAGE.to_owned()]), filter("resource-id", some.to_vec())];
            for lineage in self.tag_descriptions(of_some).await?.into_iter().filter_map(|tag| tag.value) {
                *counts.entry(lineage).or_default() += 1;
            }
        }
        let mut lineages: Vec<(String, usize)> = counts.into_iter().collect();
        lineages.sort_by_key(|(_, count)| Reverse(*count));
        Ok(lineages.into_iter().map(|(lineage, _)| lineage).collect())
    }

    /// The ids of the objects of EC2 that bear an instance's mark (not hashed), whatever their lineage. NAT gateways are left
    /// out: AWS shows them with their tags for an hour after they are gone.
    pub async fn objects_of(&self, instance: &str) -> Result<Vec<String>, CallError> {
        let mut marked = self.marked(instance).await?;
        marked.retain(|tag| !tag.resource_id().is_some_and(|id| id.starts_with("nat-")));
        Ok(marked.into_iter().filter_map(|tag| tag.resource_id).collect())
    }

    /// The same with NAT gateways, gone ones included.
    pub async fn marked_ids(&self, instance: &str) -> Result<Vec<String>, CallError> {
        Ok(self.marked(instance).await?.into_iter().filter_map(|tag| tag.resource_id).collect())
    }

    /// Every object of EC2 that bears a mark of fleetctl's, by its id, with AWS's word for its type and those of its tags
    /// that are marks.
    pub async fn marked_objects(&self) -> Result<BTreeMap<String, (String, tags::Tags)>, CallError> {
        let keys = [tags::LINEAGE, tags::INSTANCE, tags::ADDRESS].map(str::to_owned).to_vec();
        let mut objects: BTreeMap<String, (String, tags::Tags)> = BTreeMap::new();
        for tag in self.tag_descriptions(vec![filter("key", keys)]).await? {
            let (Some(id), Some(key)) = (tag.resource_id, tag.key) else { continue };
            let kind = tag.resource_type.map(|kind| kind.as_str().to_owned()).unwrap_or_default();
            let object = objects.entry(id).or_insert_with(|| (kind, tags::Tags::new()));
            object.1.insert(key, tag.value.unwrap_or_default());
        }
        Ok(objects)
    }

    /// The tags with an instance's mark.
    async fn marked(&self, instance: &str) -> Result<Vec<TagDescription>, CallError> {
        let instance = tags::value(instance);
        // AWS reads `*`, `?` and `\` in values as patterns.
        let literal = instance.replace('\\', r"\\").replace('*', r"\*").replace('?', r"\?");
        let of_instance = vec![filter("key", vec![tags::INSTANCE.to_owned()]), filter("value", vec![literal])];
        let mut marked = self.tag_descriptions(of_instance).await?;
        marked.retain(|tag| tag.value() == Some(&instance));
        Ok(marked)
    }

    async fn tag_descriptions(&self, filters: Vec<Filter>) -> Result<Vec<TagDescription>, CallError> {
        pages(|token| async {
            let input = DescribeTagsInputBuilder::default().set_filters(Some(filters.clone())).set_next_token(token);
            let page = self.describe_tags(input).await?;
            Ok((page.tags.unwrap_or_default(), page.next_token))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use crate::aws::simulated::{Call, Reply, Simulated, ec2_of};

    #[tokio::test(start_paused = true)]
    async fn objects_of_an_instance_are_told_by_one_call_and_without_those_that_linger() {
        let aws = Simulated::new(|_: &Call| {
            let tag = |id: &str, kind: &str, value: &str| {
                let item = format!("<resourceId>{id}</resourceId><resourceType>{kind}</resourceType>");
                format!("<item>{item}<key>fleetctl:instance</key><value>{value}</value></item>")
            };
            let of_one = tag("vpc-1", "vpc", "argocd/Vpc/one") + &tag("nat-1", "natgateway", "argocd/Vpc/one");
            let items = of_one + &tag("vpc-2", "vpc", "argocd/Vpc/two");
            Reply::Answer(200, format!("<DescribeTagsResponse><tagSet>{items}</tagSet></DescribeTagsResponse>"))
        });
        assert_eq!(ec2_of(&aws).objects_of("argocd/Vpc/one").await, Ok(vec!["vpc-1".to_owned()]));
        assert_eq!(aws.count("DescribeTags"), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn lineages_are_those_of_the_objects_of_the_instance() {
        let aws = Simulated::new(|call: &Call| {
            let tag = |id: &str, key: &str, value: &str| {
                format!("<item><resourceId>{id}</resourceId><key>{key}</key><value>{value}</value></item>")
            };
            let items = if call.body.contains("Value.1=fleetctl:instance") {
                // A filter of AWS is a pattern: the second is another instance.
                tag("vpc-1", "fleetctl:instance", "argocd/Vpc/one") + &tag("vpc-2", "fleetctl:instance", "argocd/Vpc/two")
            } else {
                assert!(call.body.contains("vpc-1") && !call.body.contains("vpc-2"), "{}", call.body);
                let of = |id: &str, lineage: &str| tag(id, "fleetctl:lineage", lineage);
                of("vpc-1", "5f0c") + &of("subnet-1", "77aa") + &of("subnet-2", "77aa")
            };
            Reply::Answer(200, format!("<DescribeTagsResponse><tagSet>{items}</tagSet></DescribeTagsResponse>"))
        });
        assert_eq!(ec2_of(&aws).lineages("argocd/Vpc/one").await, Ok(vec!["77aa".to_owned(), "5f0c".to_owned()]));
        assert_eq!(aws.count("DescribeTags"), 2);
    }
}
